export type { KafkaConnection } from './client.js';
export {
  checkTopics,
  type CheckTopicsOptions,
  type DeployedTopics,
  deployTopics,
  type DeployTopicsOptions,
} from './deploy-topics.js';
export { partitionOf } from './names.js';
export type { KafkaObserver } from './observer.js';
export { type KafkaLag, type KafkaLog, type KafkaLogOptions, openKafkaLog } from './open.js';
export { type RebuiltIndex, rebuildIndex } from './rebuild-index.js';
