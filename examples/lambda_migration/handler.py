"""A handler as it was deployed to AWS Lambda; nothing in it was changed.

Behind an HTTP API it quotes the price of a parcel, and it also takes a batch of quotes from a queue,
where it reports the messages that it could not do.
"""
import json
import logging
import os

logger = logging.getLogger()
logger.setLevel(logging.INFO)
RATES = json.loads(os.environ["RATES"])  # dollars per kilogram, by zone
MOST_KG = 30


def lambda_handler(event, context):
    if "Records" in event:
        return batch(event["Records"], context)
    logger.info("request %s, %d ms left", context.aws_request_id, context.get_remaining_time_in_millis())
    answer = quote(json.loads(event["body"]))
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(answer)}


def quote(order):
    weight = float(order["kg"])
    if not 0 < weight <= MOST_KG:
        raise ValueError(f"a parcel of {weight:g} kg is not taken")
    return {"zone": order["zone"], "price": round(RATES[order["zone"]] * weight + 2.5, 2)}


def batch(records, context):
    failed = []
    for record in records:
        try:
            print(record["messageId"], quote(json.loads(record["body"]))["price"])
        except (KeyError, ValueError) as error:
            logger.warning("%s: %r", record["messageId"], error)
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
