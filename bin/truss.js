#!/usr/bin/env node
// Plain JavaScript on purpose: it must run, and explain itself, on any Node.
import { existsSync } from 'node:fs';

function refuse(sentence) {
  process.stderr.write(sentence + '\n');
  process.exit(2);
}

var version = process.versions.node.split('.').map(Number);
if (version[0] < 24 || (version[0] === 24 && version[1] < 15)) {
  refuse(
    'truss needs Node 24.15 or newer and this is Node ' +
      process.versions.node +
      '. In a checkout `npx truss` uses the Node that npm ci installed.',
  );
}
var main = new URL('../dist/apps/truss/src/main.js', import.meta.url);
if (!existsSync(main)) refuse('truss is not built: run `npm run build` in its folder.');
void import(main.href).then(function (cli) {
  return cli.main(process.argv);
});
