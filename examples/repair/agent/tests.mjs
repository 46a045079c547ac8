import { spawn } from 'node:child_process';

/**
 * Runs a test file in a process of its own, stopped after `timeoutMs`.
 * @returns {Promise<number>} how many of its tests fail; Infinity when it does not load, ends early or is stopped
 */
export function failingTests(file, timeoutMs) {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--test-reporter=tap', file], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      output = (output + chunk).slice(-4096);
    });
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      const tests = Number(/^# tests (\d+)$/m.exec(output)?.[1] ?? 0);
      const fails = Number(/^# fail (\d+)$/m.exec(output)?.[1] ?? Infinity);
      resolve(tests === 0 || (code !== 0 && fails === 0) ? Infinity : fails);
    });
  });
}
