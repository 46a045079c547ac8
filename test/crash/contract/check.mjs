import { appendFileSync, readFileSync } from 'node:fs';

appendFileSync(new URL('effects.log', import.meta.url), `check ${readFileSync('run.txt', 'utf8')}\n`);
