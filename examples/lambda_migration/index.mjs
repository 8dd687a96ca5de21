// The same for Node: an ES module with an async handler, as it was deployed to AWS Lambda.
const rates = JSON.parse(process.env.RATES);

export const handler = async (event, context) => {
  console.log(`request ${context.awsRequestId}, ${context.getRemainingTimeInMillis()} ms left`);
  const { zone, kg } = JSON.parse(event.body);
  if (!(kg > 0 && kg <= 30)) throw new RangeError(`a parcel of ${kg} kg is not taken`);
  return { statusCode: 200, body: JSON.stringify({ zone, price: Math.round((rates[zone] * kg + 2.5) * 100) / 100 }) };
};
