export { checkRule, FAULT_KINDS, type FaultRule } from '../aws/fault-rules.ts';
export { standardZones } from '../aws/open-account.ts';
export { openAws } from '../aws/open-aws.ts';
export type { AwsAccount, CallAnswer, CallError, Catalogue, LocalAwsOptions, OpenAws } from '../aws/options.ts';
export { chance, randomStream } from '../aws/random.ts';
export type { LocalInstance, LocalInstances, Pool, Spending } from '../aws/types.ts';
