/** The services of the local AWS. */
import { ec2Handlers } from '../ec2/handlers.ts';
import type { Account } from '../state/account.ts';
import type { AwsService } from '../wire/service.ts';
import { eksHandlers } from './eks.ts';
import { iamHandlers } from './iam.ts';
import { pricingHandlers } from './pricing.ts';
import { sqsHandlers } from './sqs.ts';
import { ssmHandlers } from './ssm.ts';
import { stsHandlers } from './sts.ts';

/** Services with requests that may be signed for another region. */
export const GLOBAL_SERVICES: ReadonlySet<string> = new Set(['iam', 'sts', 'pricing']);

/** Returns the services by the name in the credential scope of a signature. */
export function services(account: Account, queueUrl: (name: string) => string): ReadonlyMap<string, AwsService> {
  const all: readonly AwsService[] = [
    {
      name: 'ec2',
      protocol: 'ec2',
      namespace: 'http://ec2.amazonaws.com/doc/2016-11-15/',
      handlers: ec2Handlers(account),
      load: () => import('@aws-sdk/client-ec2'),
    },
    {
      name: 'sqs',
      protocol: 'json-1.0',
      namespace: 'AmazonSQS',
      handlers: sqsHandlers(account, queueUrl),
      load: () => import('@aws-sdk/client-sqs'),
      queryCodes: { QueueDoesNotExist: 'AWS.SimpleQueueService.NonExistentQueue' },
    },
    {
      name: 'ssm',
      protocol: 'json-1.1',
      namespace: 'AmazonSSM',
      handlers: ssmHandlers(account),
      load: () => import('@aws-sdk/client-ssm'),
    },
    {
      name: 'iam',
      protocol: 'query',
      namespace: 'https://iam.amazonaws.com/doc/2010-05-08/',
      handlers: iamHandlers(account),
      load: () => import('@aws-sdk/client-iam'),
    },
    {
      name: 'eks',
      protocol: 'rest-json',
      namespace: '',
      handlers: eksHandlers(account),
      load: () => import('@aws-sdk/client-eks'),
    },
    {
      name: 'pricing',
      protocol: 'json-1.1',
      namespace: 'AWSPriceListService',
      handlers: pricingHandlers(account),
      load: () => import('@aws-sdk/client-pricing'),
    },
    {
      name: 'sts',
      protocol: 'query',
      namespace: 'https://sts.amazonaws.com/doc/2011-06-15/',
      handlers: stsHandlers(account),
      load: () => import('@aws-sdk/client-sts'),
    },
  ];
  return new Map(all.map((service) => [service.name, service]));
}
