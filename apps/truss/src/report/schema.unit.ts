import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REPORT_SCHEMA_FILE, reportJsonSchema } from './schema.js';

test('the published schema of the report is what the code says: `npm run schemas` writes it', () => {
  expect(readFileSync(new URL(`../../../../${REPORT_SCHEMA_FILE}`, import.meta.url), 'utf8')).toBe(reportJsonSchema());
});
