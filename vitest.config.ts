import { defineConfig } from 'vitest/config';

const conditions = ['truss-src', 'node', 'import', 'module', 'default'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    setupFiles: ['reflect-metadata'],
    projects: [
      { extends: true, test: { name: 'unit', include: ['{apps,libs}/*/src/**/*.unit.ts'], isolate: false } },
      {
        extends: true,
        test: { name: 'int', include: ['{apps,libs}/*/src/**/*.int.ts', 'test/**/*.int.ts'], testTimeout: 120_000 },
      },
      {
        extends: true,
        test: { name: 'e2e', include: ['{apps,libs}/*/src/**/*.e2e.ts', 'test/**/*.e2e.ts'], testTimeout: 300_000 },
      },
    ],
  },
});
