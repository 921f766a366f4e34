export { CORE_GATES, openGates, parseGates, unknownGates } from '../feature-gates.ts';
export { parseSchedulerConfig } from '../scheduler-config.ts';
export {
  DEFAULT_BATCH_MAX_MS,
  DEFAULT_EVICTION_PRICE,
  evictionPriceError,
  HelpRequested,
  OPTIONS,
  parseSettings,
  type Settings,
  SettingsError,
  type WebhookSettings,
} from '../settings.ts';
