import { inject } from 'vitest';

const { missing } = inject('stack');
if (missing !== undefined) throw new Error(`${missing} (CI must have one)`);
