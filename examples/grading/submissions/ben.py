"""Wrong: forgets that there may be two in the middle."""


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]
