/** What the doctor finds out, and how it runs its checks. */
import { codeOf, describeError, isDryRun } from '../errors.ts';

export interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  /** The thing that was looked at: `EC2NodeClass default`, `ec2:DescribeSubnets`. */
  readonly subject: string;
  readonly message: string;
  /** What to do about it; absent when all is well. */
  readonly fix?: string;
  /** It could not be tried or looked up: nothing is known of it. */
  readonly unasked?: true;
}

export const fine = (subject: string, message: string): Finding => ({ level: 'ok', subject, message });
export const warning = (subject: string, message: string, fix: string): Finding => ({
  level: 'warning',
  subject,
  message,
  fix,
});
export const unasked = (subject: string, message: string, fix: string): Finding => ({
  ...warning(subject, message, fix),
  unasked: true,
});
export const problem = (subject: string, message: string, fix: string): Finding => ({
  level: 'error',
  subject,
  message,
  fix,
});

const DENIED = /UnauthorizedOperation|AccessDenied|AuthFailure|NotAuthorized/;

export const isDenied = (error: unknown): boolean => DENIED.test(codeOf(error));

/** Which policy document of an installation allows an action. */
const POLICIES: readonly (readonly [RegExp, string])[] = [
  [/^ec2:(Describe|Get)|^ssm:|^pricing:|^iam:(Get|List)/, 'KarpenterControllerResourceDiscoveryPolicy'],
  [/^ec2:/, 'KarpenterControllerNodeLifecyclePolicy'],
  [/^iam:/, 'KarpenterControllerIAMIntegrationPolicy'],
  [/^sqs:/, 'KarpenterControllerInterruptionPolicy'],
  [/^eks:/, 'KarpenterControllerEKSIntegrationPolicy'],
];

export const policyFor = (action: string): string =>
  POLICIES.find(([matches]) => matches.test(action))?.[1] ?? 'a policy of the controller';

/** Whether a call is allowed. It must change nothing: a dry run, or a read. */
export async function permitted(action: string, call: () => Promise<unknown>, level: Finding['level'] = 'error') {
  try {
    await call();
    return fine(action, 'allowed');
  } catch (error) {
    if (isDryRun(error)) return fine(action, 'allowed');
    if (isDenied(error))
      return {
        level,
        subject: action,
        message: describeError(error),
        fix: `allow ${action} in ${policyFor(action)}, attached to the controller's role`,
      } satisfies Finding;
    return unasked(action, `could not be tried: ${describeError(error)}`, 'look into the error and run doctor again');
  }
}
