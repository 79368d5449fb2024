export const create = async (kafka, names: string[]) => {
  const topics = names.map((topic) => ({ topic, replicationFactor: 1 }));
  await kafka.admin().createTopics({ topics });
};
