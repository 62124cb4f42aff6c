import { GraphQLScalarType, valueFromASTUntyped } from 'graphql';

/** Any JSON value, for what has its shape in the REST reference. */
export const Json = new GraphQLScalarType({
  name: 'JSON',
  description: 'Any JSON value; its shape is the one of the REST answer of the same name',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
});
