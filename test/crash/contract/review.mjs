import { appendFileSync, readFileSync } from 'node:fs';

readFileSync(0);
appendFileSync(new URL('effects.log', import.meta.url), `review ${process.argv[2]}\n`);
console.log(JSON.stringify({ vote: 'approve', reason: 'it is one' }));
