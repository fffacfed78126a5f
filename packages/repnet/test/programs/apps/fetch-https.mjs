const response = await fetch(`https://127.0.0.1:${process.env.PORT}/`);
process.stdout.write(await response.text());
