import { describeEventLog } from '../log-contract.testkit.js';
import { deploy } from './deployment.testkit.js';

describeEventLog('kafka', async () => {
  const deployment = await deploy();
  const here = await deployment.open();
  return {
    ...here,
    elsewhere: await deployment.open(),
    putRaw: deployment.putRaw,
    close: deployment.close,
  };
});
