/**
 * Removes unused elements from DescribeInstanceTypes responses before the SDK parses them. They are more than half of
 * several megabytes, and parsing them took half of the processor time of the start. Elements that are not listed here
 * are kept.
 */
import type { Call } from './unusable.ts';

/** Text elements that are not read. No other element that is read has one of these names. */
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
/** Lists of texts that are not read. */
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

/** Returns the body without the unused elements. */
export function withoutUnread({ service, operation }: Call, body: unknown): unknown {
  if (service !== 'EC2' || operation !== 'DescribeInstanceTypes' || !(body instanceof Uint8Array)) return body;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return Buffer.from(text.replace(UNREAD, ''));
}
