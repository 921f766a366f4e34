/** Events about devices of nodes. */
import { event } from './declaration.ts';

export const INVALID_DEVICE_TEMPLATE = event({
  reason: 'InvalidDeviceTemplate',
  type: 'Warning',
  about: ['ConfigMap'],
  meaning: 'A document that declares devices of new nodes is not valid and is skipped.',
  key: 'uid of the ConfigMap, message',
  windowMs: 60 * 60_000,
  message: (text: string) => `Skipping declared devices: ${text}`,
});

export const DEVICE_TEMPLATE_MISMATCH = event({
  reason: 'DeviceTemplateMismatch',
  type: 'Warning',
  about: ['NodeClaim', 'NodePool'],
  meaning:
    'A node published fewer devices than expected. No nodes of this type are launched for such devices for some time.',
  key: 'uid of the object, message',
  message: (driver: string, missing: number, minutes: number) =>
    `Driver "${driver}" did not publish ${missing} of the expected devices; no nodes of this type are launched for its devices for ${minutes} minutes`,
});

export const DRA_DRIVER_POOLS_NOT_PUBLISHED = event({
  reason: 'DRADriverPoolsNotPublished',
  type: 'Warning',
  about: ['NodeClaim', 'NodePool'],
  meaning:
    'A driver published no complete pool in time. No nodes of this type are launched for its devices for some time.',
  key: 'uid of the object, message',
  message: (driver: string, minutes: number) =>
    `Driver "${driver}" has not published a complete resource pool within 15 minutes; no nodes of this type are launched for its devices for ${minutes} minutes`,
});
