/** Addresses to listen on, as settings spell them. */
import { isIP } from 'node:net';

export interface Address {
  /** An IP address; IPv6 without brackets. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
}

/** `127.0.0.1:8090`, `[::1]:8090`, or `localhost:8090`, which is the first. Undefined for anything else. */
export function parseAddress(text: string): Address | undefined {
  const [, name = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text.trim()) ?? [];
  const host = name === 'localhost' ? '127.0.0.1' : name.replace(/^\[(.*)\]$/, '$1');
  const port = Number(digits);
  if (digits === '' || isIP(host) === 0 || port > 65_535) return undefined;
  return host.includes(':') === name.startsWith('[') ? { host, port } : undefined;
}
