/**
 * Takes out of DescribeInstanceTypes what nobody reads, before the SDK parses it: more than half of some megabytes, and so
 * half of the processor time of the start. A name that is not here is parsed as before.
 */
import type { Call } from './unusable.ts';

/** Elements that hold a text; none of the names is one of something else that is read. */
export const TEXTS = [
  'currentGeneration',
  'freeTierEligible',
  'instanceStorageSupported',
  'hibernationSupported',
  'dedicatedHostsSupported',
  'autoRecoverySupported',
  'nitroTpmSupport',
  'phcSupport',
  'rebootMigrationSupport',
  'defaultCores',
  'defaultThreadsPerCore',
  'encryptionSupport',
  'maximumEbsAttachments',
  'maximumEbsCards',
  'attachmentLimitType',
  'baselineBandwidthInMbps',
  'baselineThroughputInMBps',
  'baselineIops',
  'maximumThroughputInMBps',
  'maximumIops',
  'networkPerformance',
  'peakBandwidthInGbps',
  'maximumNetworkCards',
  'ipv6AddressesPerInterface',
  'ipv6Supported',
  'enaSrdSupported',
  'efaSupported',
  'flexibleEnaQueuesSupport',
];
/** Lists of texts. */
export const LISTS = [
  'supportedRootDeviceTypes',
  'supportedBootModes',
  'validCores',
  'validThreadsPerCore',
  'bandwidthWeightings',
];

const UNREAD = new RegExp(
  `<(${TEXTS.join('|')})>[^<]*</\\1>|<(${LISTS.join('|')})>(?:\\s*<item>[^<]*</item>)*\\s*</\\2>`,
  'g',
);

/** The body with nothing in it that is not read. */
export function withoutUnread({ service, operation }: Call, body: unknown): unknown {
  if (service !== 'EC2' || operation !== 'DescribeInstanceTypes' || !(body instanceof Uint8Array)) return body;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return Buffer.from(text.replace(UNREAD, ''));
}
