"""Never ends where two are left in the middle."""


def median(numbers):
    left = sorted(numbers)
    while len(left) != 1:
        left = left[1:-1] or left
    return left[0]
