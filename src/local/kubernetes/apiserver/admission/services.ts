/** Cluster addresses of services. */
import { type ApiObject, at, record } from '../json.ts';
import type { ObjectStore } from '../storage/store.ts';

export type IpFamily = 'ipv4' | 'ipv6';

/** Address range of services. */
export const SERVICE_CIDR = '172.20.0.0/16';
export const SERVICE_IPV6_CIDR = 'fd00:10:96::/108';

/**
 * Assigns the next free address to a service, in place, unless it has an address or is headless. The address is of the family of
 * the service `kubernetes`.
 */
export function assignClusterIp(service: ApiObject, store: ObjectStore): void {
  const spec = record(service.spec);
  if (spec.type === 'ExternalName') return;
  const own = store.get('services', 'default', 'kubernetes')?.object ?? service;
  const isIpv6 = String(at(own, 'spec', 'clusterIP') ?? '').includes(':');
  const address = isIpv6 ? ipv6Address : ipv4Address;
  if (spec.clusterIP === undefined || spec.clusterIP === '') {
    const taken = new Set(store.list('services').map(({ object }) => at(object, 'spec', 'clusterIP')));
    let next = 256;
    while (taken.has(address(next))) next++;
    spec.clusterIP = address(next);
  }
  spec.clusterIPs ??= [spec.clusterIP];
  spec.ipFamilies ??= [isIpv6 ? 'IPv6' : 'IPv4'];
  spec.ipFamilyPolicy ??= 'SingleStack';
}

const ipv4Address = (index: number): string => `172.20.${index >> 8}.${index & 255}`;
const ipv6Address = (index: number): string => `fd00:10:96::${index.toString(16)}`;
