import type { SettingsReader } from './reader.js';
import type { SecretName, VariableName } from './variables.js';

export interface Endpoint {
  /** Without credentials. */
  readonly url: string;
  readonly secure: boolean;
  readonly loopback: boolean;
  readonly username?: string;
  readonly password?: string;
}

export interface EndpointNames {
  readonly url: VariableName;
  readonly username: VariableName;
  readonly password: SecretName;
}

/** A server by URL, with the user and password that stand in it or in variables of their own. */
export function endpointOf(
  reader: SettingsReader,
  names: EndpointNames,
  schemes: { readonly clear: string; readonly secure: string },
): Endpoint | undefined {
  const text = reader.text(names.url);
  const expected = `a URL such as ${schemes.secure}//user@host:port`;
  const password = reader.secret(names.password);
  const username = reader.text(names.username);
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  // The text is not shown: a password may stand in it.
  if (url === null || !Object.values(schemes).includes(url.protocol) || url.hostname === '')
    return reader.problem(
      names.url,
      `is no URL that begins with ${schemes.clear} or ${schemes.secure}; expected ${expected}`,
    );
  if (url.password !== '') {
    reader.secrets.push(decodeURIComponent(url.password), url.password);
    if (reader.byFlag(names.url))
      return reader.problem(
        names.url,
        `has a password on the command line, where others can see it: put it into ${names.password} or ${names.password}_FILE`,
      );
    if (password !== undefined)
      return reader.problem(names.password, `is set, and ${names.url} has a password too: keep one of them`);
  }
  if (url.username !== '' && username !== undefined)
    return reader.problem(names.username, `is set, and ${names.url} has a user too: keep one of them`);
  const user = username ?? (url.username === '' ? undefined : decodeURIComponent(url.username));
  const secret = password ?? (url.password === '' ? undefined : decodeURIComponent(url.password));
  url.username = '';
  url.password = '';
  return {
    url: url.href.replace(/\/$/, ''),
    secure: url.protocol === schemes.secure,
    loopback: isLoopback(url.hostname),
    ...(user === undefined ? {} : { username: user }),
    ...(secret === undefined ? {} : { password: secret }),
  };
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127(\.\d+){3}$/.test(host);
}
