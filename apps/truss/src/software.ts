import { createRequire } from 'node:module';

const { version } = createRequire(import.meta.url)('#package.json') as { version: string };

/** The versions that `eval_started` and `run_started` record. */
export const SOFTWARE = { truss: version, node: process.versions.node } as const;
