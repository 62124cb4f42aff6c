import { GraphQLError } from 'graphql';
import type { ASTVisitor, ValidationContext } from 'graphql';

/** Each field of an operation's root is a query of its own, and an alias makes any number of them. */
const MOST_ROOT_FIELDS = 20;
const MOST_FIELDS = 500;
const ROOTS: readonly (string | undefined)[] = ['Query', 'Mutation', 'Subscription'];

/** Refuses operations that ask for the same thing under many names. */
export const limitFields = (context: ValidationContext): ASTVisitor => {
  let [fields, roots] = [0, 0];
  return {
    Field(node) {
      fields += 1;
      if (ROOTS.includes(context.getParentType()?.name)) roots += 1;
      if (fields === MOST_FIELDS + 1 || roots === MOST_ROOT_FIELDS + 1) {
        const bounds = `${String(MOST_ROOT_FIELDS)} fields at its root and ${String(MOST_FIELDS)} in all`;
        context.reportError(new GraphQLError(`an operation has at most ${bounds}`, { nodes: node }));
      }
    },
  };
};
