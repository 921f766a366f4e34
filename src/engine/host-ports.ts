/** Host ports. Two pods on a node cannot bind the same host port. */

import type { EnginePod } from './input.ts';

export interface HostPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

const UNSPECIFIED = new Set(['0.0.0.0', '::']);

/** Returns the host ports of a pod's regular containers. */
export function hostPortsOf(pod: EnginePod): readonly HostPort[] {
  return pod.spec.containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, hostIP, protocol }) =>
      hostPort ? [{ ip: hostIP || '0.0.0.0', port: hostPort, protocol: protocol || 'TCP' }] : [],
    ),
  );
}

const clash = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || UNSPECIFIED.has(a.ip) || UNSPECIFIED.has(b.ip));

/** Number of comparisons up to which an index is not worthwhile. */
const FEW = 256;

/** Returns the first wanted port that is in use, or undefined. */
export function portConflict(wanted: readonly HostPort[], taken: readonly HostPort[]): HostPort | undefined {
  if (wanted.length === 0 || taken.length === 0) return undefined;
  if (wanted.length * taken.length <= FEW) return wanted.find((port) => taken.some((other) => clash(port, other)));
  const addresses = new Map<string, Set<string>>();
  for (const port of taken) {
    const own = addresses.get(nameOf(port)) ?? new Set();
    addresses.set(nameOf(port), own.add(UNSPECIFIED.has(port.ip) ? '' : port.ip));
  }
  return wanted.find((port) => {
    const own = addresses.get(nameOf(port));
    return own !== undefined && (UNSPECIFIED.has(port.ip) || own.has('') || own.has(port.ip));
  });
}

const nameOf = ({ protocol, port }: HostPort): string => `${protocol} ${port}`;
