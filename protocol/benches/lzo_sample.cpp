// What the LZO benchmark compresses: instantiates much of the standard library, as real C++ does.
#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <class Key, class Value> struct Index {
    std::map<Key, std::vector<Value>> ordered;
    std::unordered_map<std::string, std::set<Key>> names;

    void add(const Key &key, Value value, const std::string &name) {
        ordered[key].push_back(std::move(value));
        names[name].insert(key);
    }

    template <class Visit> void each(Visit visit) {
        for (auto &[key, values] : ordered) {
            std::sort(values.begin(), values.end());
            values.erase(std::unique(values.begin(), values.end()), values.end());
            visit(key, values);
        }
    }
};

using Field = std::variant<int, double, std::string, std::vector<std::string>>;
using Row = std::tuple<std::string, long, Field>;

template <class Key> long exercise(std::istream &in, std::ostream &out, Key (*parse)(const std::string &)) {
    Index<Key, std::string> index;
    std::regex word("([A-Za-z_]+)[ \t]*=[ \t]*(\"[^\"]*\"|[0-9.]+)");
    long lines = 0;
    for (std::string line; std::getline(in, line); ++lines) {
        for (std::sregex_iterator match(line.begin(), line.end(), word), end; match != end; ++match)
            index.add(parse((*match)[1].str()), (*match)[2].str(), line);
    }
    index.each([&](const Key &, std::vector<std::string> &values) {
        std::stable_sort(values.rbegin(), values.rend());
        out << std::accumulate(values.begin(), values.end(), std::string()) << '\n';
    });
    return lines;
}

long rows(std::vector<Row> &table, std::mt19937_64 &random) {
    std::shuffle(table.begin(), table.end(), random);
    std::sort(table.begin(), table.end());
    std::map<std::string, std::shared_ptr<std::function<long(const Row &)>>> columns;
    for (auto &row : table)
        columns[std::get<0>(row)] = std::make_shared<std::function<long(const Row &)>>(
            [&](const Row &other) { return std::get<1>(other) + std::get<1>(row) + (other < row); });
    long sum = 0;
    for (auto &[name, column] : columns)
        sum += std::accumulate(table.begin(), table.end(), 0L, [&](long so_far, const Row &row) {
            return so_far + (*column)(row) + std::visit([](const auto &value) { return long(sizeof value); }, std::get<2>(row));
        });
    return sum;
}

long integer(const std::string &text) { return std::stol(text); }
double real(const std::string &text) { return std::stod(text); }
std::string same(const std::string &text) { return text; }
std::tuple<std::string, int> pair(const std::string &text) { return {text, int(text.size())}; }

int main(int argc, char **argv) {
    std::ifstream file(argv[argc - 1]);
    std::ostringstream out;
    long lines = exercise(file, out, integer) + exercise(file, out, real);
    lines += exercise(file, out, same) + exercise(file, out, pair);
    std::mt19937_64 random(static_cast<unsigned long>(lines));
    std::vector<Row> table{{"a", lines, 1}, {"b", 2, 0.5}, {"c", 3, out.str()}};
    std::cout << out.str() << rows(table, random) << '\n';
}
