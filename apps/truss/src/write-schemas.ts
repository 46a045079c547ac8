import { writeFileSync } from 'node:fs';
import { REPORT_SCHEMA_FILE, reportJsonSchema } from './report/schema.js';

// `npm run schemas`: writes what the code says into the files that others validate by.
writeFileSync(new URL(REPORT_SCHEMA_FILE, import.meta.resolve('#package.json')), reportJsonSchema());
