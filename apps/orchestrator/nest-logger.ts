import type { LoggerService } from '@nestjs/common';
import type { Logger } from '#platform/logging';

/** Nest's own messages in the process's log: what it says of its start is for debugging. */
export class NestLogger implements LoggerService {
  constructor(private readonly log_: Logger) {}

  log(message: unknown): void {
    this.log_.debug({}, String(message));
  }

  error(message: unknown): void {
    this.log_.error({}, String(message));
  }

  warn(message: unknown): void {
    this.log_.warn({}, String(message));
  }
}
