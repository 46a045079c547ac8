// One benchmark in a process of its own, so that its peak of memory is its own: `node part.mjs NAME JSON` prints JSON.
import 'reflect-metadata';
import { cryptoAlone, zeroWork } from './zero-work.mjs';
import { rawVerification, verification } from './verification.mjs';

const PARTS = { zeroWork, cryptoAlone, verification, rawVerification };
const [name, options] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await PARTS[name](JSON.parse(options))));
process.exit(0);
