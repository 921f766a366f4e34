/** Parses the addresses to listen on in settings. */
import { isIP } from 'node:net';

export interface Address {
  /** IP address; IPv6 addresses have no brackets. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
}

/**
 * Parses `127.0.0.1:8090`, `[::1]:8090` or `localhost:8090`. `localhost` stands for 127.0.0.1. Returns undefined if the text
 * is not a valid address.
 */
export function parseAddress(text: string): Address | undefined {
  const [, name = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text.trim()) ?? [];
  const host = name === 'localhost' ? '127.0.0.1' : name.replace(/^\[(.*)\]$/, '$1');
  const port = Number(digits);
  if (digits === '' || isIP(host) === 0 || port > 65_535) return undefined;
  return host.includes(':') === name.startsWith('[') ? { host, port } : undefined;
}
