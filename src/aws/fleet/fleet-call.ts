/** One CreateFleet request, however often it has to be sent until EC2 has said what came of it. */
import { CreateFleetCommand, type CreateFleetCommandOutput, type EC2Client } from '@aws-sdk/client-ec2';
import { codeOf, isThrottled } from '../errors.ts';

/** Codes with which EC2 refuses a request because of the caller, before it looks at its content. */
const TURNED_AWAY: ReadonlySet<string> = new Set([
  'AuthFailure',
  'Blocked',
  'ExpiredToken',
  'InvalidClientTokenId',
  'OptInRequired',
  'PendingVerification',
  'RequestExpired',
  'SignatureDoesNotMatch',
  'UnauthorizedOperation',
]);

const isAnswer = (error: unknown): boolean =>
  isThrottled(error) || (error instanceof Error && '$fault' in error && error.$fault === 'client');

/** Whether EC2 has looked at the request, so that an earlier one with the same token cannot have bought anything. */
const isVerdict = (error: unknown): boolean =>
  isAnswer(error) && !isThrottled(error) && !TURNED_AWAY.has(codeOf(error));

export class FleetCall {
  readonly #command: CreateFleetCommand;
  #isLost = false;

  constructor(input: ConstructorParameters<typeof CreateFleetCommand>[0]) {
    this.#command = new CreateFleetCommand(input);
    // each try of the SDK by itself: the last one may have been throttled, and the one before it have bought
    this.#command.middlewareStack.add(
      (next) => async (args) => {
        try {
          return await next(args);
        } catch (error) {
          this.#record(error);
          throw error;
        }
      },
      { step: 'deserialize', priority: 'high', name: 'noteLostAnswers' },
    );
  }

  /**
   * Whether EC2 may have bought the fleet without our knowing: a connection was lost, or EC2 failed by itself. Throttles
   * and refused credentials say nothing of what an earlier try has bought, and do not take it back.
   */
  get isInDoubt(): boolean {
    return this.#isLost;
  }

  /** Sends the very same request, with the same token: EC2 answers with what it bought before, or buys now. */
  async send(ec2: EC2Client): Promise<CreateFleetCommandOutput> {
    try {
      const fleet = await ec2.send(this.#command);
      this.#isLost = false;
      return fleet;
    } catch (error) {
      this.#record(error);
      throw error;
    }
  }

  #record(error: unknown): void {
    if (!isAnswer(error)) this.#isLost = true;
    else if (isVerdict(error)) this.#isLost = false;
  }
}
