export { CORE_GATES, gate, type Open, openGates, parseGates, unknownGates } from '../feature-gates.ts';
export type { Values } from '../flags.ts';
export { decimal, duration, integer, text, toggle } from '../options.ts';
export { parseSchedulerConfig } from '../scheduler-config.ts';
export {
  DEFAULT_BATCH_MAX_MS,
  DEFAULT_EVICTION_PRICE,
  evictionPriceError,
  flagWithValue,
  HelpRequested,
  OPTIONS,
  type ProviderSettings,
  parseSettings,
  type Settings,
  SettingsError,
  type WebhookSettings,
} from '../settings.ts';
