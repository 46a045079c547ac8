import { MemoryViews } from './memory.testkit.js';
import { describeViews } from './views-contract.testkit.js';

describeViews('memory', async () => new MemoryViews());
