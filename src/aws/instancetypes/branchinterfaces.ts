/**
 * How many branch network interfaces (security groups for pods) an instance type carries. AWS publishes no API for it;
 * the limits follow a pattern by family and vCPUs, with a few exceptions.
 */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';

type Steps = readonly (readonly [maxVcpus: number, limit: number])[];

const COMMON: Steps = [
  [1, 4],
  [2, 9],
  [4, 18],
  [8, 38],
  [48, 54],
  [Number.POSITIVE_INFINITY, 107],
];
/** Intel and AMD of the eighth generation. */
const EIGHTH: Steps = [
  [1, 4],
  [2, 9],
  [4, 18],
  [8, 38],
  [16, 54],
  [32, 82],
  [48, 110],
  [96, 106],
  [Number.POSITIVE_INFINITY, 98],
];
const EXCEPTIONS: Readonly<Record<string, number>> = { 'g6.12xlarge': 114, 'p4d.24xlarge': 62 };

const WITHOUT_TRUNKING = /^(t\d|mac|hs|cc|cr|cg)/;

/** 0 for types that cannot trunk. */
export function branchInterfaces(info: InstanceTypeInfo): number {
  const name = info.InstanceType ?? '';
  const exception = EXCEPTIONS[name];
  if (exception !== undefined) return exception;
  if (WITHOUT_TRUNKING.test(name) || info.Hypervisor === 'xen') return 0;
  const vcpus = info.VCpuInfo?.DefaultVCpus ?? 0;
  const family = name.split('.')[0] ?? '';
  const steps = /8(i|a|id|in|idn)(-flex)?$/.test(family) ? EIGHTH : COMMON;
  const limit = steps.find(([max]) => vcpus <= max)?.[1] ?? 0;
  return family.endsWith('-flex') ? Math.floor(limit / 3) : limit;
}
