// npm does not link a package's own bin: this puts `truss` where `npx truss` finds it in a checkout.
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const bin = join(root, 'node_modules', '.bin');
if (existsSync(join(root, 'node_modules'))) {
  mkdirSync(bin, { recursive: true });
  rmSync(join(bin, 'truss'), { force: true });
  symlinkSync(join('..', '..', 'bin', 'truss.js'), join(bin, 'truss'));
  chmodSync(join(root, 'bin', 'truss.js'), 0o755);
}
