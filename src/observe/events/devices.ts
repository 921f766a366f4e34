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
