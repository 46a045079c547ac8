import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../deploy/local/stack');
const JAVA_17 = 'echo \'openjdk version "17.0.1"\' >&2';
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'truss-script-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the script where these programs stand before the machine's own. */
function stack(command: readonly string[], programs: Readonly<Record<string, string>>, path = process.env.PATH) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const env = {
    PATH: `${bin}:${path}`,
    HOME: folder,
    TRUSS_STACK_HOME: join(folder, 'home'),
    TRUSS_STACK_KAFKA_PORT: '1',
  };
  const { status, stdout, stderr } = spawnSync(SCRIPT, command, { env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('a machine whose Java is too old is told so in one line, with the exit code that only "no stack here" has', () => {
  expect(stack(['up'], { java: 'echo \'openjdk version "11.0.2"\' >&2' })).toEqual({
    status: 3,
    stdout: '',
    stderr: 'stack: no stack can be had here: Java 11 is too old: install Java 17 or newer\n',
  });
});

test('a machine that is not Linux is told what to use', () => {
  const programs = { bash: 'exec /bin/bash "$@"', dirname: 'exec /usr/bin/dirname "$@"' };
  expect(stack(['up'], programs, '/nowhere')).toEqual({
    status: 3,
    stdout: '',
    stderr:
      'stack: no stack can be had here: setsid is missing (this is for Linux; elsewhere use deploy/compose.yaml)\n',
  });
});

test('where Maven cannot download, no stack can be had, and what it said is kept', () => {
  const { status, stderr } = stack(['install'], { java: JAVA_17, 'redis-server': '', mvn: 'echo no route; exit 1' });
  expect(status).toBe(3);
  expect(stderr).toContain(`Maven could not download it: see ${join(folder, 'home', 'maven.log')}`);
});

test('a download that differs from the list of digests is refused, and nothing of it stays', () => {
  const forge = `
    for argument; do case $argument in -DoutputDirectory=*) out=\${argument#*=} ;; esac; done
    mkdir -p "$out"
    cut -c67- "${join(import.meta.dirname, '../../deploy/local/SHA256SUMS')}" | while read -r name; do echo forged >"$out/$name"; done`;
  const { status, stdout, stderr } = stack(['install'], { java: JAVA_17, 'redis-server': '', mvn: forge });
  expect(status).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toContain('kafka-clients-4.1.2.jar: FAILED');
  expect(stderr).toContain('nothing of it is used');
  expect(readdirSync(join(folder, 'home')).filter((name) => !/[.](log|lock)$/.test(name))).toEqual([]);
});

test('asked for nothing that it knows, it says what it knows and touches nothing', () => {
  const { status, stderr } = stack(['start'], {});
  expect(status).toBe(2);
  expect(stderr).toMatch(/^usage: /);
  expect(existsSync(join(folder, 'home'))).toBe(false);
});

test('the state of a stack that was never started is down, and taking it down is no error', () => {
  expect(stack(['status'], {})).toEqual({ status: 1, stdout: 'kafka down\nregistry down\nredis down\n', stderr: '' });
  rmSync(join(folder, 'bin'), { recursive: true });
  expect(stack(['down', '--delete'], {})).toEqual({ status: 0, stdout: '', stderr: '' });
});
