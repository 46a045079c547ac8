export { type CloudEvent, cloudEventHeaders, EVENT_TYPES, eventIdOf } from './cloud-events.js';
export {
  type AttachmentChunk,
  type TopicCodec,
  WIRE_TOPICS,
  type WireTopic,
  type WireValue,
  type WireValues,
} from './codec.js';
export type { RegistryConnection } from './connection.js';
export { SchemaError, type SchemaErrorCode } from './errors.js';
export { type DeployedSchema, deploySchemas, type DeploySchemasOptions } from './deploy-schemas.js';
export { openCodec, type OpenCodecOptions } from './open-codec.js';
export { pingRegistry } from './ping-registry.js';
