// A service that works for 20 ms on each request, and stops when its client leaves.
import { createServer } from 'node:http';
import { setTimeout as work } from 'node:timers/promises';

const server = createServer(async (request, response) => {
    const left = new AbortController();
    response.on('close', () => {
        if (!response.writableEnded) left.abort();
    });
    try {
        await work(20, undefined, { signal: left.signal });
        response.end(`hello ${request.url}\n`);
    } catch {
        // Nobody waits for the answer any more.
    }
});
server.listen(Number(process.argv[2]), '127.0.0.1');
