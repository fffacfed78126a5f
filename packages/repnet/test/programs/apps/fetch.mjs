const response = await fetch(`http://127.0.0.1:${process.env.PORT}/`);
process.stdout.write(await response.text());
