export type { AwsOptions, LocalAws } from './options.ts';
