import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests with processes and real clocks may meet a machine that is busy for a moment: in CI such a one is run once more, and shown as retried.
const retry = process.env.CI === undefined ? 0 : 1;

const conditions = ['truss-src', 'node', 'import', 'module', 'default'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    setupFiles: ['reflect-metadata'],
    maxWorkers: Math.max(2, availableParallelism()),
    reporters: ['default', './test/reporter/counts.ts'],
    coverage: {
      provider: 'v8',
      reportOnFailure: true,
      include: ['{apps,libs}/*/src/**/*.ts'],
      exclude: ['**/*.{unit,int,e2e,stack,testkit}.ts'],
      reporter: ['text-summary', 'html', 'json-summary'],
      thresholds: { lines: 85 },
    },
    projects: [
      // One realm for all unit tests: they are pure, and loading the libs afresh for each file takes most of the time.
      {
        extends: true,
        test: { name: 'unit', include: ['{apps,libs}/*/src/**/*.unit.ts'], isolate: false, testTimeout: 30_000 },
      },
      {
        extends: true,
        test: {
          name: 'int',
          include: ['{apps,libs}/*/src/**/*.int.ts', 'test/**/*.int.ts'],
          retry,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['{apps,libs}/*/src/**/*.e2e.ts', 'test/**/*.e2e.ts'],
          retry,
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      // Against a real Kafka, registry and Redis, after all other tests: they start Java processes and need what is left of the cores.
      {
        extends: true,
        test: {
          name: 'stack',
          include: ['{apps,libs,test}/**/*.stack.ts'],
          globalSetup: ['./test/stack/setup.ts'],
          setupFiles: ['./test/stack/required.ts'],
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          retry,
          testTimeout: 300_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
