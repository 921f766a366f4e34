/** Cluster addresses of services. */
import { type ApiObject, at, record } from '../json.ts';
import type { ObjectStore } from '../storage/store.ts';

/** Address range of services. */
export const SERVICE_CIDR = '172.20.0.0/16';

/** Assigns the next free address of SERVICE_CIDR to a service, in place, unless it has an address or is headless. */
export function assignClusterIp(service: ApiObject, store: ObjectStore): void {
  const spec = record(service.spec);
  if (spec.type === 'ExternalName') return;
  if (spec.clusterIP === undefined || spec.clusterIP === '') {
    const taken = new Set(store.list('services').map(({ object }) => at(object, 'spec', 'clusterIP')));
    let next = 256;
    while (taken.has(address(next))) next++;
    spec.clusterIP = address(next);
  }
  spec.clusterIPs ??= [spec.clusterIP];
  spec.ipFamilies ??= ['IPv4'];
  spec.ipFamilyPolicy ??= 'SingleStack';
}

const address = (index: number): string => `172.20.${index >> 8}.${index & 255}`;
