import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { issueToken, ROLES } from '#platform/auth';
import type { Role, TokenClaims } from '#platform/auth';
import { OwnIdempotency, Roles, parsed } from '#platform/http';
import { SIGNING_SECRET } from '#platform/ports';
import { Required, choice, identifier, validateInput } from '#platform/validation';

class TokenRequest {
  @Required(choice(ROLES))
  readonly role: Role;

  @Required(identifier)
  readonly account: string;
}

/** Bearer tokens for people and programs. They are shown once and stored nowhere. */
@ApiTags('system')
@Controller('v1/tokens')
export class TokensController {
  constructor(@Inject(SIGNING_SECRET) private readonly secret: string) {}

  @Post()
  @HttpCode(201)
  @Roles('operator')
  // The same request gives the same token.
  @OwnIdempotency()
  @ApiOperation({ summary: 'Issue a token for an account; a node token may enrol nodes' })
  async issue(@Body() body: unknown): Promise<TokenClaims & { token: string }> {
    const { role, account } = parsed(validateInput(TokenRequest, body));
    return { role, account, token: await issueToken(this.secret, { role, account }) };
  }
}
