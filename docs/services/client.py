# Asks 40 times, one after the other.
from urllib.request import urlopen

for number in range(40):
    with urlopen(f"http://127.0.0.1:8080/{number}") as answer:
        assert answer.read() == f"hello /{number}\n".encode(), answer.status
print("40 answers")
