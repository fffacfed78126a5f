// Asks 40 times, one after the other.
for (let number = 0; number < 40; number += 1) {
    const answer = await fetch(`http://127.0.0.1:8080/${number}`);
    if ((await answer.text()) !== `hello /${number}\n`) throw new Error(`wrong: ${answer.status}`);
}
console.log('40 answers');
