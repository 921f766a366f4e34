/** SDK clients on the default credential chain. `AWS_ENDPOINT_URL` and `AWS_REGION` steer them as usual. */
import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';

/** With the SDK's standard mode: throttling and transient errors are retried with jittered back-off. */
const RETRIES = {
  retryMode: 'standard',
  maxAttempts: 6,
  requestHandler: { connectionTimeout: 5_000 },
} as const;

export interface Clients {
  readonly ec2: EC2Client;
  /** For dry runs, where a throttle is an answer rather than something to wait for. */
  readonly ec2Once: EC2Client;
  readonly sqs: SQSClient;
  readonly ssm: SSMClient;
  readonly iam: IAMClient;
  readonly eks: EKSClient;
  readonly pricing: PricingClient;
  readonly region: string;
}

/** The region whose Pricing API serves a region. */
export function pricingRegion(region: string): string {
  if (region.startsWith('ap-')) return 'ap-south-1';
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  if (region.startsWith('eu-')) return 'eu-central-1';
  return 'us-east-1';
}

/** @throws when neither the environment nor the shared config names a region */
export async function createClients(): Promise<Clients> {
  const ec2 = new EC2Client(RETRIES);
  const region = await ec2.config.region();
  return {
    ec2,
    ec2Once: new EC2Client({ maxAttempts: 1 }),
    // A long poll holds its connection for 20 s, so the queue has a client of its own.
    sqs: new SQSClient(RETRIES),
    ssm: new SSMClient(RETRIES),
    iam: new IAMClient(RETRIES),
    eks: new EKSClient(RETRIES),
    pricing: new PricingClient({ ...RETRIES, region: pricingRegion(region) }),
    region,
  };
}
