import type { ConnectionOptions } from 'node:tls';

/** A Confluent-compatible schema registry. */
export interface RegistryConnection {
  /** Of the API, such as `https://host:8081` or `http://host:8080/apis/ccompat/v7`. */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: ConnectionOptions;
}
