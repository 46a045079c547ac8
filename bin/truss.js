#!/usr/bin/env node
// Plain JavaScript on purpose: it must run, and explain itself, on any Node.
var parts = process.versions.node.split('.');
if (Number(parts[0]) < 24 || (Number(parts[0]) === 24 && Number(parts[1]) < 15)) {
  process.stderr.write(
    'truss needs Node 24.15 or newer and this is Node ' + process.versions.node + ': run it as `npx truss`, which uses the Node that npm ci installed.\n',
  );
  process.exit(2);
}
import('../dist/apps/truss/src/main.js').then(function (m) {
  return m.main(process.argv);
});
