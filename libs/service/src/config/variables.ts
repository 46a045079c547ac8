/** A setting as a person reads of it: `docs/operations.md` lists exactly these. */
export interface Variable {
  readonly meaning: string;
  /** What holds when it is not set; absent: it must be set where it is needed. */
  readonly otherwise?: string;
  /** Is a secret: `NAME_FILE` may name a file that holds it. */
  readonly secret?: true;
}

/** Every variable that a service reads. */
export const VARIABLES = {
  TRUSS_BROKERS: { meaning: 'brokers to begin with, `host:port,host:port` (`--brokers`)' },
  TRUSS_REGISTRY: {
    meaning: 'URL of the Confluent-compatible schema registry; a user name may stand in it (`--registry`)',
  },
  TRUSS_REDIS: { meaning: '`redis://` or, for TLS, `rediss://` URL; a user name may stand in it (`--redis`)' },
  TRUSS_PREFIX: {
    meaning: 'what all names of topics, subjects, groups and Redis keys begin with: the cell (`--prefix`)',
    otherwise: 'nothing',
  },

  TRUSS_TLS_CA_FILE: { meaning: 'PEM file of the authorities that sign for the servers', otherwise: 'those of Node' },
  TRUSS_TLS_CERT_FILE: { meaning: 'PEM file of the certificate that the service shows', otherwise: 'none' },
  TRUSS_TLS_KEY_FILE: { meaning: 'PEM file of its private key', otherwise: 'none' },

  TRUSS_KAFKA_TLS: {
    meaning: '`true` or `false`: whether the brokers are reached by TLS',
    otherwise: '`true` with SASL or a TRUSS_KAFKA_TLS_… file, else `false`',
  },
  TRUSS_KAFKA_TLS_CA_FILE: { meaning: 'as TRUSS_TLS_CA_FILE, for the brokers', otherwise: 'TRUSS_TLS_CA_FILE' },
  TRUSS_KAFKA_TLS_CERT_FILE: { meaning: 'as TRUSS_TLS_CERT_FILE, for the brokers', otherwise: 'TRUSS_TLS_CERT_FILE' },
  TRUSS_KAFKA_TLS_KEY_FILE: { meaning: 'as TRUSS_TLS_KEY_FILE, for the brokers', otherwise: 'TRUSS_TLS_KEY_FILE' },
  TRUSS_KAFKA_SASL_MECHANISM: {
    meaning: '`PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512` or `OAUTHBEARER`',
    otherwise: 'no SASL',
  },
  TRUSS_KAFKA_SASL_USERNAME: { meaning: 'the principal of PLAIN and SCRAM' },
  TRUSS_KAFKA_SASL_PASSWORD: { meaning: 'its password', secret: true },
  TRUSS_KAFKA_OAUTH_TOKEN_FILE: {
    meaning: 'OAUTHBEARER: a file that holds the token, read again for every connection',
    otherwise: 'client credentials',
  },
  TRUSS_KAFKA_OAUTH_TOKEN_URL: { meaning: 'OAUTHBEARER: where client credentials are changed for a token' },
  TRUSS_KAFKA_OAUTH_CLIENT_ID: { meaning: 'OAUTHBEARER: the client' },
  TRUSS_KAFKA_OAUTH_CLIENT_SECRET: { meaning: 'OAUTHBEARER: its secret', secret: true },
  TRUSS_KAFKA_OAUTH_SCOPE: { meaning: 'OAUTHBEARER: the scope that is asked for', otherwise: 'none' },

  TRUSS_REGISTRY_USERNAME: { meaning: 'user of the registry', otherwise: 'the one in the URL, else none' },
  TRUSS_REGISTRY_PASSWORD: { meaning: 'its password', otherwise: 'none', secret: true },
  TRUSS_REGISTRY_TLS_CA_FILE: { meaning: 'as TRUSS_TLS_CA_FILE, for the registry', otherwise: 'TRUSS_TLS_CA_FILE' },
  TRUSS_REGISTRY_TLS_CERT_FILE: {
    meaning: 'as TRUSS_TLS_CERT_FILE, for the registry',
    otherwise: 'TRUSS_TLS_CERT_FILE',
  },
  TRUSS_REGISTRY_TLS_KEY_FILE: { meaning: 'as TRUSS_TLS_KEY_FILE, for the registry', otherwise: 'TRUSS_TLS_KEY_FILE' },

  TRUSS_REDIS_USERNAME: { meaning: 'user of Redis', otherwise: 'the one in the URL, else none' },
  TRUSS_REDIS_PASSWORD: { meaning: 'its password', otherwise: 'none', secret: true },
  TRUSS_REDIS_TLS_CA_FILE: { meaning: 'as TRUSS_TLS_CA_FILE, for Redis', otherwise: 'TRUSS_TLS_CA_FILE' },
  TRUSS_REDIS_TLS_CERT_FILE: { meaning: 'as TRUSS_TLS_CERT_FILE, for Redis', otherwise: 'TRUSS_TLS_CERT_FILE' },
  TRUSS_REDIS_TLS_KEY_FILE: { meaning: 'as TRUSS_TLS_KEY_FILE, for Redis', otherwise: 'TRUSS_TLS_KEY_FILE' },

  TRUSS_PARTITIONS: { meaning: 'partitions of each topic that `truss deploy topics` creates', otherwise: '12' },
  TRUSS_REPLICATION: {
    meaning: 'replicas of each partition that it creates; 3 in production',
    otherwise: '3, or as many as there are brokers',
  },
  TRUSS_MIN_INSYNC_REPLICAS: {
    meaning:
      'replicas that must have a record before it counts as written: set so by `truss deploy topics`, and asked for by services; 2 in production',
    otherwise: '1',
  },

  TRUSS_KEYS: {
    meaning:
      'a folder as `truss keys init` makes it, where the four below are not set one by one: `trust.json` and a key for each role',
    otherwise: 'none',
  },
  TRUSS_TRUST_FILE: { meaning: 'the trust store `trust.json`: whose signatures count' },
  TRUSS_COORDINATOR_KEY_FILE: {
    meaning: 'private key of the coordinator; a process needs those of its own roles only',
  },
  TRUSS_EXECUTOR_KEY_FILE: { meaning: 'private key of the executor' },
  TRUSS_PROJECTOR_KEY_FILE: { meaning: 'private key of the projector' },

  TRUSS_CONCURRENCY: { meaning: 'how many child runs an executor has under way at once, 1 to 1024', otherwise: '4' },
  TRUSS_LEASE_TIME: {
    meaning: 'how long a run may be silent before another executor takes it up: `1s` to `10m`',
    otherwise: '`10s`',
  },
  TRUSS_SESSION_TIMEOUT: {
    meaning:
      'how long a service may be silent before its partitions are given to others: `1s` to `10m`, and what the brokers allow (`group.min.session.timeout.ms`: 6 s unless they are told)',
    otherwise: '`10s`',
  },
  TRUSS_CACHE_DIR: {
    meaning: 'folder for the files of contracts, which may be lost at any time; processes of one machine may share it',
    otherwise: 'truss-cache in the folder for temporary files',
  },
  TRUSS_ARCHIVE_URLS: {
    meaning:
      'where archives may be read from: beginnings of URLs, each a whole folder, `https://host/path/,file:///folder/`',
    otherwise: 'from requests only',
  },
  TRUSS_AUDIENCE: {
    meaning: 'the name of this deployment: signed requests and contracts are for it',
    otherwise: '`truss`',
  },
  TRUSS_SIGNED_ONLY: {
    meaning: '`true`: every request must be signed, not only those that bring their contract',
    otherwise: '`false`',
  },
  TRUSS_QUOTA_OPEN: { meaning: 'evaluations that one requester may have open at once', otherwise: '100' },
  TRUSS_QUOTA_USD_PER_DAY: {
    meaning: 'USD that the evaluations of one requester may spend in 24 hours, or `none` for no limit',
    otherwise: '100',
  },
  TRUSS_MAX_DEADLINE: {
    meaning: 'the longest deadline of an evaluation that is accepted: topics must be kept longer than it; up to `720h`',
    otherwise: '`72h`',
  },
  TRUSS_HTTP_HOST: { meaning: 'address of `/health` and `/metrics`', otherwise: '`127.0.0.1`' },
  TRUSS_HTTP_PORT: { meaning: 'its port; `0` takes a free one and logs it', otherwise: '9464' },
  TRUSS_LOG_LEVEL: {
    meaning: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
    otherwise: '`info`',
  },
  TRUSS_OTLP_ENDPOINT: {
    meaning: 'base URL of an OTLP/HTTP collector, to which traces go (`/v1/traces` is added)',
    otherwise: 'no traces',
  },
  TRUSS_OTLP_HEADERS: { meaning: 'headers for it, `name=value,name=value`', otherwise: 'none', secret: true },
} as const satisfies Readonly<Record<string, Variable>>;

export type VariableName = keyof typeof VARIABLES;
/** The names of the secrets: each may come as itself or by a file. */
export type SecretName = {
  [K in VariableName]: (typeof VARIABLES)[K] extends { readonly secret: true } ? K : never;
}[VariableName];
